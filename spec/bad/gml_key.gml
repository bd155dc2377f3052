graph [
  3 node
]
