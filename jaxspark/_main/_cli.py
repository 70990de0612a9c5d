def main(argv=None):
    pass
