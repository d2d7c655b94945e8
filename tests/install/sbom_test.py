#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/sbom: every package of THIRD_PARTY.md with its version, and what it makes of the security tracker's data."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import subprocess
import unittest

loader = importlib.machinery.SourceFileLoader("sbom", "scripts/sbom")
sbom = importlib.util.module_from_spec(importlib.util.spec_from_loader("sbom", loader))
loader.exec_module(sbom)


class Sbom(unittest.TestCase):
    def test_the_document(self):
        document = json.loads(subprocess.run(["scripts/sbom"], check=True, capture_output=True, text=True).stdout)
        packages = {package["SPDXID"]: package for package in document["packages"]}
        names = {package["name"] for package in packages.values()}
        self.assertLessEqual({"pirx", "libssl3", "libcurl4", "libgmp10", "libboost-dev", "libcli11-dev", "libc6"}, names)
        for package in packages.values():
            installed = sbom.query(package["name"], ["Version"])[0]
            if installed:
                self.assertEqual(package["versionInfo"], installed)
                self.assertIn(f"/{package['name']}@{installed}?", package["externalRefs"][0]["referenceLocator"])
        self.assertEqual(packages["SPDXRef-libc6"]["versionInfo"], sbom.query("libc6", ["Version"])[0])
        related = {line["relatedSpdxElement"]: line["relationshipType"] for line in document["relationships"]}
        self.assertEqual(set(related), set(packages))
        self.assertEqual([related["SPDXRef-libcli11-dev"], related["SPDXRef-libssl3"]], ["CONTAINS", "DEPENDS_ON"])

    def test_what_is_open(self):
        def entry(**state):
            return {"releases": {sbom.RELEASE: {"urgency": "low", **state}}}
        tracker = {"curl": {"CVE-1-1": entry(status="open"), "CVE-1-2": entry(status="resolved", fixed_version="7.88.1-9"),
                            "CVE-1-3": entry(status="resolved", fixed_version="7.88.1-11"),
                            "CVE-1-4": entry(status="resolved", fixed_version="0"), "CVE-1-5": {"releases": {}}}}
        self.assertEqual(sbom.still_open(tracker, "curl", "7.88.1-10+deb12u5"),
                         ["CVE-1-1 (low)", "CVE-1-3 (low, fixed in 7.88.1-11)"])
        self.assertEqual(sbom.still_open(tracker, "openssl", "3.0"), [])

    def test_the_list(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            sbom.cves(None)
        self.assertRegex(output.getvalue(), r"(?m)^libc6 2\.\S+: \d+ fixed")
        self.assertIn("was not looked up", output.getvalue())


if __name__ == "__main__":
    unittest.main()
