"""What we hand out for deploying, held against what the daemon really offers."""

import importlib
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest

from tests import nginx
from tests.conftest import require
from tests.deploy.conftest import NAMES
from tests.docs.pages import blocks
from upcall.config.settings import keys
from upcall.daemon.server import GRACE
from upcall.domain.inquiry.limits import Limits
from upcall.web.api.openapi import openapi

Json = dict[str, Any]
ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
PORT = 8427
# It has no types, and what is read has none either.
yaml: Any = importlib.import_module("yaml")


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")


@pytest.fixture(scope="module")
def services() -> dict[str, Json]:
    services: dict[str, Json] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return services


@pytest.fixture(scope="module")
def objects() -> dict[tuple[str, str], Json]:
    """What is in the manifest, by kind and name."""
    read = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    return {(each["kind"], each["metadata"]["name"]): each for each in read}


@pytest.fixture(scope="module")
def pod(objects: dict[tuple[str, str], Json]) -> Json:
    pod: Json = objects["StatefulSet", "upcall"]["spec"]["template"]["spec"]
    return pod


def test_every_variable_is_a_setting(dockerfile: str, services: dict[str, Json], pod: Json) -> None:
    known = {variable for _, variable, _ in keys()} | {"UPCALL_HOME"}
    unit = (DEPLOY / "upcall.service").read_text()
    used = set(re.findall(r"(UPCALL_\w+)=", dockerfile + unit))
    for name in NAMES:
        used |= set(services[name]["environment"])
    used |= {each["name"] for each in pod["containers"][0]["env"]}
    assert {"UPCALL_DATABASE", "UPCALL_REPLICA", "UPCALL_PUBLIC_URL", "UPCALL_PORT", "UPCALL_HOME"} <= used
    assert used <= known


def test_the_daemons_are_called_what_nginx_looks_for(
    services: dict[str, Json], objects: dict[tuple[str, str], Json], pod: Json
) -> None:
    settings = (DEPLOY / "nginx.conf").read_text()
    assert set(re.findall(r"server (\S+):\d+", settings)) == set(NAMES)
    assert set(re.findall(r"server \S+:(\d+)", settings)) == {str(PORT)}
    for name in NAMES:
        assert services[name]["environment"]["UPCALL_REPLICA"] == name
        selected = objects["Service", name]["spec"]["selector"]
        assert selected["statefulset.kubernetes.io/pod-name"] == name
    assert objects["StatefulSet", "upcall"]["spec"]["replicas"] == len(NAMES)
    (named,) = [each for each in pod["containers"][0]["env"] if each["name"] == "UPCALL_REPLICA"]
    assert named["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    assert services["nginx"]["volumes"] == ["./nginx.conf:/etc/nginx/nginx.conf:ro"]


def test_probes_ask_for_what_there_is(pod: Json, dockerfile: str) -> None:
    (container,) = pod["containers"]
    paths = cast("Json", openapi("1", Limits())["paths"])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in paths
        # The daemon takes requests only for names that are its own.
        assert asked["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["ports"][0]["containerPort"] == PORT
    assert f"UPCALL_PORT={PORT}" in dockerfile
    assert f"EXPOSE {PORT}" in dockerfile
    assert "/healthz" in dockerfile


def test_there_is_time_to_settle_everybody(
    services: dict[str, Json], objects: dict[tuple[str, str], Json], pod: Json
) -> None:
    before = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > before + 2 * GRACE
    assert objects["PodDisruptionBudget", "upcall"]["spec"]["minAvailable"] == 1
    for name in NAMES:
        assert services[name]["stop_grace_period"] == "30s"


def test_nothing_runs_as_root_or_writes_where_it_need_not(
    services: dict[str, Json], objects: dict[tuple[str, str], Json], dockerfile: str
) -> None:
    for kind, name in (("StatefulSet", "upcall"), ("Deployment", "upcall-nginx")):
        spec = objects[kind, name]["spec"]["template"]["spec"]
        assert spec["securityContext"]["runAsNonRoot"]
        assert not spec["automountServiceAccountToken"]
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
    user = objects["StatefulSet", "upcall"]["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    assert f"USER {user}" in dockerfile
    assert f"--uid {user}" in dockerfile
    for name in (*NAMES, "nginx"):
        assert (services[name]["read_only"], services[name]["cap_drop"]) == (True, ["ALL"])


def test_the_image_is_made_of_what_there_is(dockerfile: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
    (extras,) = re.findall(r"\.whl\)\[([^\]]+)\]", dockerfile)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert re.findall(r'^ENTRYPOINT \["(\w+)"\]$', dockerfile, re.MULTILINE) == list(project["scripts"])


def test_the_home_is_a_folder_inside_the_volume_that_belongs_to_the_daemon_alone(
    services: dict[str, Json], pod: Json, dockerfile: str
) -> None:
    (home,) = re.findall(r"UPCALL_HOME=(\S+)", dockerfile)
    (volume,) = re.findall(r"^VOLUME (\S+)$", dockerfile, re.MULTILINE)
    # A cluster hands out volumes that belong to root and to a group of ours: their modes are not ours to change.
    assert Path(home).parent == Path(volume)
    assert [each["mountPath"] for each in pod["containers"][0]["volumeMounts"] if each["name"] == "home"] == [
        volume
    ]
    for name in NAMES:
        (mounted,) = services[name]["volumes"]
        assert mounted.endswith(f":{volume}")


def test_nothing_is_sent_to_the_builder_but_what_the_image_is_made_of(dockerfile: str) -> None:
    sent = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert sent[0] == "*"
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE)
        for source in line.split()[:-1]
    }
    assert {line.removeprefix("!") for line in sent if line.startswith("!")} == copied


def test_the_overlay_that_is_shown_names_the_latest_release() -> None:
    (latest, *_) = re.findall(
        r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    for file in (DEPLOY / "kustomization.yaml", ROOT / "docs/deploying.md"):
        assert re.findall(r'newTag: "(.*?)"', file.read_text("utf-8")) == [latest], file.name


def test_the_base_of_kustomize_makes_what_the_manifests_refer_to() -> None:
    base = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())
    assert base["resources"] == ["kubernetes.yaml"]
    (made,) = base["configMapGenerator"]
    assert [(DEPLOY / each).is_file() for each in made["files"]] == [True]
    found = {
        (each["kind"], each["metadata"]["name"]): each["spec"]["template"]["spec"]
        for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
        if "template" in each.get("spec", {})
    }
    mounted = [
        each["configMap"]["name"]
        for each in found["Deployment", "upcall-nginx"]["volumes"]
        if "configMap" in each
    ]
    assert mounted == [made["name"]]
    (shown,) = [yaml.safe_load(block.content) for block in blocks("yaml") if "images:" in block.content]
    (named,) = shown["images"]
    assert found["StatefulSet", "upcall"]["containers"][0]["image"].partition(":")[0] == named["name"]


def test_an_overlay_names_the_image_and_brings_nginx_its_settings(tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    asked = [kubectl or "kubectl", "version", "--client", "--output=json"]
    version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout if kubectl else ""
    if "kustomizeVersion" not in version:
        # Debian's own is older than bases that are folders, so this looks closer where a newer one is.
        pytest.skip("no kubectl with Kustomize 4 or newer is here")
    command = [str(kubectl), "kustomize"]
    # What the page shows, beside a copy of what we hand out.
    shutil.copytree(DEPLOY, tmp_path / "upcall" / "deploy")
    (shown,) = [block.content for block in blocks("yaml") if "images:" in block.content]
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay" / "kustomization.yaml").write_text(shown)
    made = subprocess.run(
        [*command, str(tmp_path / "overlay")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert made.returncode == 0, made.stderr
    found = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(made.stdout)}
    daemon = found["StatefulSet", "upcall"]["spec"]["template"]["spec"]["containers"][0]
    (tag,) = re.findall(r'newTag: "(.*?)"', shown)
    assert daemon["image"] == f"registry.example.com/upcall:{tag}"
    assert {each["metadata"]["namespace"] for each in found.values()} == {"upcall"}
    (settings,) = [
        each["configMap"]["name"]
        for each in found["Deployment", "upcall-nginx"]["spec"]["template"]["spec"]["volumes"]
        if "configMap" in each
    ]
    assert found["ConfigMap", settings]["data"]["nginx.conf"] == (DEPLOY / "nginx.conf").read_text()


def test_compose_needs_no_variable() -> None:
    written = (DEPLOY / "compose.yaml").read_text()
    used = re.findall(r"\$\{(\w+)(:-)?", written)
    assert used
    assert [name for name, default in used if not default] == []


def test_caddy_understands_its_file() -> None:
    caddy = shutil.which("caddy")
    require(caddy, "Caddy")
    assert caddy is not None
    done = subprocess.run(
        [caddy, "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_nginx_understands_its_file_for_tls(tmp_path: Path) -> None:
    found, openssl = nginx.program(), shutil.which("openssl")
    require(found and openssl, "nginx, and openssl for a certificate")
    assert found is not None
    assert openssl is not None
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=upcall.example.com"]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    settings = (DEPLOY / "nginx-tls.conf").read_text()
    folder = "/etc/letsencrypt/live/upcall.example.com"
    settings = settings.replace(f"{folder}/fullchain.pem", str(certificate)).replace(
        f"{folder}/privkey.pem", str(key)
    )
    whole = tmp_path / "nginx.conf"
    # It opens the ports that it is told, which others may have here.
    settings = settings.replace("listen 443 ssl;", f"listen unix:{tmp_path}/tls ssl;")
    settings = settings.replace("listen [::]:443 ssl;", "")
    whole.write_text(f"pid {tmp_path}/nginx.pid;\nevents {{}}\nhttp {{\n{settings}\n}}\n")
    done = subprocess.run(
        [found, "-t", "-p", str(tmp_path), "-c", str(whole)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    require(analyze, "systemd-analyze")
    assert analyze is not None
    unit = (DEPLOY / "upcall.service").read_text()
    # It looks whether the program is there.
    assert "ExecStart=/opt/upcall/bin/upcall up\n" in unit
    (tmp_path / "upcall.service").write_text(unit.replace("/opt/upcall/bin/upcall", "/bin/true"))
    environment = {"PATH": os.defpath, "SYSTEMD_LOG_LEVEL": "warning"}
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(tmp_path / "upcall.service")],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
