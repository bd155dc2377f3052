std = "min"
max_line_length = 130
files["lua"] = { max_line_length = 100 }
files["spec"] = { std = "+busted" }
