<#
.SYNOPSIS
Takes secondchair off this PC: shortcut, ssh config, pinned host keys and, on asking, the key.

.DESCRIPTION
The key is of no use to anybody once the box no longer knows it: have it revoked there, too, with
"secondchair-worker users revoke". Files that you fetched stay where you put them.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File remove.ps1 -KeepKey
#>
[CmdletBinding()]
param(
    [switch]$KeepKey
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

$SshFolder = Join-Path $env:USERPROFILE '.ssh'
$Folder = Join-Path $SshFolder 'secondchair'
$Config = Join-Path $SshFolder 'config'
$Utf8 = New-Object System.Text.UTF8Encoding($false)

if (Test-Path -LiteralPath $Config) {
    $lines = [System.IO.File]::ReadAllText($Config) -split "`r?`n"
    $rest = @($lines | Where-Object { $_ -ne 'Include secondchair/config' }) -join "`n"
    if ($rest.Trim() -eq '') {
        Remove-Item -LiteralPath $Config
    }
    else {
        [System.IO.File]::WriteAllText($Config, $rest, $Utf8)
    }
}

$link = Join-Path ([Environment]::GetFolderPath('Desktop')) 'secondchair.lnk'
if (Test-Path -LiteralPath $link) { Remove-Item -LiteralPath $link }

$session = 'HKCU:\Software\SimonTatham\PuTTY\Sessions\secondchair'
if (Test-Path -LiteralPath $session) { Remove-Item -LiteralPath $session -Recurse }

if (Test-Path -LiteralPath $Folder) {
    foreach ($name in 'config', 'known_hosts', 'Start-secondchair.cmd') {
        $file = Join-Path $Folder $name
        if (Test-Path -LiteralPath $file) { Remove-Item -LiteralPath $file -Force }
    }
    if (-not $KeepKey) {
        Remove-Item -LiteralPath $Folder -Recurse -Force
    }
}
Write-Host 'secondchair is off this PC. Have the key revoked on the box, too.'
