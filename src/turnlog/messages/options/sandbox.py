"""How commands are kept apart from the machine.

All keys are optional, and the program lets unknown ones pass; here they are refused by the strict decoder and
named by `salvage`, as everywhere.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, OpenEnum, UnsetType


class CredentialMode(OpenEnum):
    """How a credential is withheld: not at all readable, or with a stand-in for it."""

    DENY = "deny"
    MASK = "mask"


class NoMatch(OpenEnum):
    """What follows when the pattern finds no credential."""

    DENY = "deny"
    ERROR = "error"
    WARN = "warn"


class CredentialDecode(OpenEnum):
    """What a credential is, apart from text."""

    JWT = "jwt"


class Sigv4Policy(OpenEnum):
    """What is done with requests that cannot be signed anew."""

    DENY = "deny"
    PASSTHROUGH = "passthrough"


class SandboxTlsTerminate(Camel):
    """The certificate authority with which the proxy opens TLS."""

    ca_cert_path: str | UnsetType = UNSET
    ca_key_path: str | UnsetType = UNSET


class SandboxNetworkConfig(Camel):
    """What commands may reach."""

    allowed_domains: tuple[str, ...] | UnsetType = UNSET
    denied_domains: tuple[str, ...] | UnsetType = UNSET
    strict_allowlist: bool | UnsetType = UNSET
    allow_managed_domains_only: bool | UnsetType = UNSET
    allow_unix_sockets: tuple[str, ...] | UnsetType = UNSET
    allow_all_unix_sockets: bool | UnsetType = UNSET
    allow_local_binding: bool | UnsetType = UNSET
    allow_mach_lookup: tuple[str, ...] | UnsetType = UNSET
    http_proxy_port: int | UnsetType = UNSET
    socks_proxy_port: int | UnsetType = UNSET
    tls_terminate: SandboxTlsTerminate | UnsetType = UNSET


class SandboxFilesystemConfig(Camel):
    """What commands may read and write."""

    allow_write: tuple[str, ...] | UnsetType = UNSET
    deny_write: tuple[str, ...] | UnsetType = UNSET
    deny_read: tuple[str, ...] | UnsetType = UNSET
    allow_read: tuple[str, ...] | UnsetType = UNSET
    allow_managed_read_paths_only: bool | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET


class _Credential(Camel):
    """What is done with a credential."""

    mode: CredentialMode | UnsetType = UNSET
    extract: str | UnsetType = UNSET
    """A pattern; only what its first group finds is masked."""
    on_extract_no_match: NoMatch | UnsetType = UNSET
    decode: CredentialDecode | UnsetType = UNSET
    mask_claims: tuple[str, ...] | UnsetType = UNSET
    inject_hosts: tuple[str, ...] | UnsetType = UNSET
    """The hosts that get the real one."""


class SandboxCredentialFile(_Credential):
    """A file that holds a credential."""

    path: str
    mask_duplicates: bool | UnsetType = UNSET


class SandboxCredentialVariable(_Credential):
    """An environment variable that holds a credential."""

    name: str


class SandboxAwsPair(Camel):
    """The environment variables of one AWS credential."""

    access_key_id_var: str
    secret_access_key_var: str
    session_token_var: str | UnsetType = UNSET


class SandboxSigv4(Camel):
    """What is done with AWS requests that cannot be signed anew, by kind."""

    streaming: Sigv4Policy | UnsetType = UNSET
    presigned: Sigv4Policy | UnsetType = UNSET
    sigv4a: Sigv4Policy | UnsetType = UNSET


class SandboxCredentials(Camel):
    """The credentials that commands must not see."""

    files: tuple[SandboxCredentialFile, ...] | UnsetType = UNSET
    env_vars: tuple[SandboxCredentialVariable, ...] | UnsetType = UNSET
    allow_plaintext_inject: bool | UnsetType = UNSET
    aws_pairs: tuple[SandboxAwsPair, ...] | UnsetType = UNSET
    sigv4: SandboxSigv4 | UnsetType = UNSET


class SandboxRipgrep(Camel):
    """The program that searches files for the sandbox."""

    command: str
    args: tuple[str, ...] | UnsetType = UNSET


class SandboxSettings(Camel):
    """Whether commands run in a sandbox, and what it lets through."""

    enabled: bool | UnsetType = UNSET
    fail_if_unavailable: bool | UnsetType = UNSET
    auto_allow_bash_if_sandboxed: bool | UnsetType = UNSET
    allow_unsandboxed_commands: bool | UnsetType = UNSET
    network: SandboxNetworkConfig | None | UnsetType = UNSET
    filesystem: SandboxFilesystemConfig | UnsetType = UNSET
    credentials: SandboxCredentials | UnsetType = UNSET
    ignore_violations: dict[str, tuple[str, ...]] | tuple[str, ...] | UnsetType = UNSET
    """Paths by command; spec 001 has a plain list."""
    enable_weaker_nested_sandbox: bool | UnsetType = UNSET
    allow_nested_user_namespaces: bool | UnsetType = UNSET
    enable_weaker_network_isolation: bool | UnsetType = UNSET
    allow_apple_events: bool | UnsetType = UNSET
    excluded_commands: tuple[str, ...] | UnsetType = UNSET
    ripgrep: SandboxRipgrep | UnsetType = UNSET
    bwrap_path: str | UnsetType = UNSET
    socat_path: str | UnsetType = UNSET
