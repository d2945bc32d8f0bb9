import { expect, test } from 'vitest'
import { hideLogin } from './hide-login.ts'

test.each([
  ['https://ci:hunter2@git.test/a.git', 'https://*****@git.test/a.git'],
  ['https://ci:hunt@er2@git.test/a.git', 'https://*****@git.test/a.git'],
  ['https://ci:@@@git.test', 'https://*****@git.test'],
  ['https://hunter2@git.test:8443/a@b', 'https://*****@git.test:8443/a@b'],
  ["fatal: 'http://a:b@c@d.test/x' and ssh://e@f.test/y", "fatal: 'http://*****@d.test/x' and ssh://*****@f.test/y"],
  ['https://git.test/a@b', 'https://git.test/a@b'],
  ['mail a@b.test about https://git.test', 'mail a@b.test about https://git.test'],
])('hides the login of %s', (text, shown) => {
  expect(hideLogin(text)).toBe(shown)
})
