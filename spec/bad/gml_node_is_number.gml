graph [
  node 3
]
