graph [
  node [ id 1 seconds 1
 seconds 2 ]
]
