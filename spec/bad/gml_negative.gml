graph [
  node [ id 1
    seconds -3 ]
]
