std = "min"
max_line_length = 130
files["spec"] = { std = "+busted" }
