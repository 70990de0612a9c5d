import jaxspark


def cost_per_order(method: jaxspark.methods.AbstractSparkMethod):
    return method.stages / method.order


methods = jaxspark.Gauss(3), jaxspark.RadauIIA(3), jaxspark.Lobatto(3)
print([(method.tableau.name, cost_per_order(method)) for method in methods])
assert all(isinstance(method, jaxspark.methods.AbstractSparkMethod) for method in methods)
assert [method.order for method in methods] == [6, 5, 4]
