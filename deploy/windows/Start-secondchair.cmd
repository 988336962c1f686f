@echo off
rem Opens the chat, puts the terminal right when it ends, and goes on trying when the line is lost.
setlocal EnableExtensions
title secondchair
for /f "tokens=2 delims=:." %%p in ('chcp') do set "before=%%p"
chcp 65001 >nul
for /f %%e in ('echo prompt $E^| cmd') do set "ESC=%%e"
set /a wait=2
:open
ssh -t -F "%USERPROFILE%\.ssh\secondchair\config" secondchair
set "code=%ERRORLEVEL%"
rem Leave the other screen, mouse and paste marks off, cursor on, colours off.
<nul set /p="%ESC%[?1049l%ESC%[?1000l%ESC%[?1002l%ESC%[?1003l%ESC%[?1006l%ESC%[?2004l%ESC%[?25h%ESC%[0m"
if "%code%"=="0" goto done
if "%code%"=="255" goto lost
echo.
echo secondchair ended with %code%.
echo 69: the box is busy or its worker is away. 77: your key may not do that.
pause
goto done
:lost
echo.
echo The line was lost, or the box does not let this key in. Your jobs go on and your unsent line is kept.
echo Read what ssh says above: "Permission denied" means the key is not known there,
echo "Host key verification failed" means STOP and telephone whoever runs the box.
echo Trying again in %wait% s.
choice /c YN /n /t %wait% /d Y /m "Press N to stop, Y to try at once. "
if errorlevel 2 goto done
set /a wait=wait*2
if %wait% GTR 60 set /a wait=60
goto open
:done
chcp %before% >nul
endlocal
