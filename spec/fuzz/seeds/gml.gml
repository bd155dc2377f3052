# c
Creator "me"
graph [
  directed 1
  name "net &amp; &#233;"
  node [ id 1 label "conv" seconds +1.5E-3 graphics [ x 1 ] device 0 ]
  node [ id 2 seconds:gpu INF splittable 1 device 1 ]
  edge [ source 1 target 2 bytes "8 kB" tensor 3 ]
]
