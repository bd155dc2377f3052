graph [
  directed 1
  node [ id 1
