/* Reader of "onnx". */
#define FORMAT "onnx"
#include "fuzz.h"
