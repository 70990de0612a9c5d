import jaxspark


# Four bodies in a plane, in a closed ring; the first is fixed to the ground, too.
sizes = [3, 3, 3, 3]
hinges = [(0, 1), (1, 2), (2, 3), (3, 0)]
rows = [(0, -1)] * 3 + [hinge for hinge in hinges for _ in "xy"]
pattern = jaxspark.linear.Pattern(sizes, rows, labels=[f"row {i}" for i in range(len(rows))])
print(pattern, jaxspark.linear.AcyclicNullSpace().explain_blocks(pattern), sep="\n")
assert (pattern.num_blocks, pattern.size, pattern.num_rows) == (4, 12, 11)
try:
    jaxspark.linear.AcyclicNullSpace(loops="error").symbolic(pattern)
    loops = False
except ValueError:
    loops = True
assert loops
