<#
.SYNOPSIS
Sets up this PC for secondchair: key, pinned host keys, ssh config, shortcut. No administrator needed.

.DESCRIPTION
Run it again whenever something is to be mended: what is right is left as it is. The private key is
made here and never leaves this PC; the public key is shown, for whoever runs the box.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File setup.ps1
#>
[CmdletBinding()]
param(
    [string]$Language = ''
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

$Here = Split-Path -Parent $MyInvocation.MyCommand.Path
$SshFolder = Join-Path $env:USERPROFILE '.ssh'
$Folder = Join-Path $SshFolder 'secondchair'
$Key = Join-Path $Folder 'id_ed25519'
$Config = Join-Path $SshFolder 'config'
$Include = 'Include secondchair/config'
$Utf8 = New-Object System.Text.UTF8Encoding($false)

$English = @{
    NoSsh      = 'ssh is not installed. Settings > Apps > Optional features > add "OpenSSH Client", then run this again.'
    Unfilled   = 'This kit was not filled in for your office: ask for the one that make-kit.sh wrote.'
    MakeKey    = 'Making your key. Choose a passphrase of several words; nothing is shown while you type.'
    NoPhrase   = 'That key has no passphrase. It is removed; choose one.'
    HaveKey    = 'Your key is there already.'
    Public     = 'Give this public key to whoever runs the box (it is on the clipboard, too):'
    Print      = 'Its fingerprint, to be compared by telephone:'
    Testing    = 'Trying the line ...'
    Works      = 'It works. Double-click "secondchair" on the desktop.'
    NotYet     = 'The box answers but does not know your key yet. Once it was added, double-click "secondchair".'
    WrongHost  = 'THE BOX IS NOT THE ONE THAT WAS PINNED. Do not go on; telephone whoever runs it.'
    NoLine     = 'The box cannot be reached from here. Are you in the office network or its VPN?'
}
$Korean = @{
    NoSsh      = 'ssh가 없습니다. 설정 > 앱 > 선택적 기능에서 "OpenSSH 클라이언트"를 추가한 뒤 다시 실행하십시오.'
    Unfilled   = '이 꾸러미에는 사무실 정보가 없습니다. make-kit.sh로 만든 것을 받으십시오.'
    MakeKey    = '열쇠를 만듭니다. 여러 낱말로 된 암호를 정하십시오. 치는 동안 화면에는 보이지 않습니다.'
    NoPhrase   = '암호 없는 열쇠입니다. 지웠으니 암호를 정하십시오.'
    HaveKey    = '열쇠가 이미 있습니다.'
    Public     = '이 공개 열쇠를 서버 관리자에게 주십시오 (클립보드에도 있습니다):'
    Print      = '지문입니다. 전화로 맞추어 보십시오:'
    Testing    = '연결을 시험합니다 ...'
    Works      = '됩니다. 바탕 화면의 "secondchair"를 두 번 누르십시오.'
    NotYet     = '서버가 답하지만 아직 이 열쇠를 모릅니다. 등록된 뒤 "secondchair"를 두 번 누르십시오.'
    WrongHost  = '등록된 서버가 아닙니다. 멈추고 서버 관리자에게 전화하십시오.'
    NoLine     = '여기서는 서버에 닿지 않습니다. 사무실 망이나 VPN 안에 있습니까?'
}
if ($Language -eq '') { $Language = $PSUICulture }
if ($Language -like 'ko*') { $Words = $Korean } else { $Words = $English }

function Stop-Setup([string]$Text) {
    Write-Host $Text -ForegroundColor Red
    exit 1
}

function Protect-File([string]$Path) {
    # OpenSSH refuses a key that others may read: only this user may, by his SID.
    $sid = [System.Security.Principal.WindowsIdentity]::GetCurrent().User.Value
    & icacls.exe $Path /inheritance:r /grant:r "*${sid}:F" | Out-Null
    if ($LASTEXITCODE -ne 0) { Stop-Setup "icacls: $LASTEXITCODE" }
}

function New-Key {
    while ($true) {
        Write-Host $Words.MakeKey
        & ssh-keygen.exe -q -t ed25519 -a 64 -f $Key -C "$env:USERNAME@$env:COMPUTERNAME"
        if ($LASTEXITCODE -ne 0) { Stop-Setup "ssh-keygen: $LASTEXITCODE" }
        # Windows PowerShell drops an empty argument, so cmd asks whether an empty one opens it.
        & cmd.exe /d /c "ssh-keygen.exe -y -P """" -f ""$Key"" >nul 2>nul"
        if ($LASTEXITCODE -ne 0) { return }
        Remove-Item -LiteralPath $Key, "$Key.pub"
        Write-Host $Words.NoPhrase -ForegroundColor Yellow
    }
}

function Add-Include {
    $text = ''
    if (Test-Path -LiteralPath $Config) { $text = [System.IO.File]::ReadAllText($Config) }
    $lines = $text -split "`r?`n"
    if ($lines -notcontains $Include) {
        if ($text -ne '') { Copy-Item -LiteralPath $Config -Destination "$Config.before-secondchair" -Force }
        # First, since a value that ssh finds earlier wins; without a mark, which ssh cannot read.
        [System.IO.File]::WriteAllText($Config, "$Include`n$text", $Utf8)
    }
}

function New-Shortcut {
    $desktop = [Environment]::GetFolderPath('Desktop')
    $shell = New-Object -ComObject WScript.Shell
    $link = $shell.CreateShortcut((Join-Path $desktop 'secondchair.lnk'))
    $link.TargetPath = Join-Path $Folder 'Start-secondchair.cmd'
    $link.WorkingDirectory = $env:USERPROFILE
    $link.Save()
}

function Test-Line {
    Write-Host $Words.Testing
    $before = $ErrorActionPreference
    $ErrorActionPreference = 'Continue'
    $said = (& ssh.exe -F (Join-Path $Folder 'config') secondchair help 2>&1 | Out-String)
    $code = $LASTEXITCODE
    $ErrorActionPreference = $before
    if ($code -eq 0) { Write-Host $Words.Works -ForegroundColor Green; return }
    if ($said -match 'Host key verification failed|IDENTIFICATION HAS CHANGED') { Stop-Setup $Words.WrongHost }
    if ($said -match 'Permission denied') { Write-Host $Words.NotYet -ForegroundColor Yellow; return }
    Write-Host $Words.NoLine -ForegroundColor Yellow
}

if (-not (Get-Command ssh.exe -ErrorAction SilentlyContinue)) { Stop-Setup $Words.NoSsh }
foreach ($name in 'config', 'known_hosts', 'Start-secondchair.cmd') {
    if (-not (Test-Path -LiteralPath (Join-Path $Here $name))) { Stop-Setup $Words.Unfilled }
}
New-Item -ItemType Directory -Force -Path $Folder | Out-Null
foreach ($name in 'config', 'known_hosts', 'Start-secondchair.cmd') {
    Copy-Item -LiteralPath (Join-Path $Here $name) -Destination (Join-Path $Folder $name) -Force
    Protect-File (Join-Path $Folder $name)
}
if (Test-Path -LiteralPath $Key) { Write-Host $Words.HaveKey } else { New-Key }
Protect-File $Key
Add-Include
New-Shortcut

$public = [System.IO.File]::ReadAllText("$Key.pub").Trim()
Write-Host ''
Write-Host $Words.Public
Write-Host $public -ForegroundColor Cyan
try { Set-Clipboard -Value $public } catch { Write-Verbose 'no clipboard here' }
Write-Host $Words.Print
& ssh-keygen.exe -l -f "$Key.pub"
Write-Host ''
Test-Line
