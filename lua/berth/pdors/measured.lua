--- Training jobs as measured on real machines: seconds of computing for a mini-batch, bytes of the
-- model, mini-batches of an epoch, bytes/s across and inside machines, GPUs of a worker. Facts of
-- the DL2 simulator (pengyanghua/DL2) of the group of OASiS and Optimus. Of dssm the link across
-- machines is the faster one, as measured.
return {
  { name = "resnet-50", seconds = 0.449, bytes = 102.2e6, batches = 115, across = 91.9e6,
    inside = 306.5e6, gpu = 4 },
  { name = "vgg-16", seconds = 0.535, bytes = 553.4e6, batches = 115, across = 233.0e6,
    inside = 427.8e6, gpu = 4 },
  { name = "resnext-110", seconds = 0.226, bytes = 6.92e6, batches = 390, across = 59.5e6,
    inside = 63.0e6, gpu = 4 },
  { name = "inception-bn", seconds = 0.815, bytes = 42.1e6, batches = 120, across = 145.9e6,
    inside = 1082.1e6, gpu = 4 },
  { name = "seq2seq", seconds = 0.075, bytes = 36.5e6, batches = 780, across = 120.1e6,
    inside = 181.1e6, gpu = 4 },
  { name = "cnn-text", seconds = 0.585, bytes = 24.0e6, batches = 193, across = 60.8e6,
    inside = 159.6e6, gpu = 0 },
  { name = "dssm", seconds = 0.567, bytes = 6.0e6, batches = 349, across = 92.1e6, inside = 65.6e6,
    gpu = 0 },
  { name = "wlm", seconds = 0.154, bytes = 19.2e6, batches = 165, across = 10.4e6, inside = 22.9e6,
    gpu = 4 },
}
