import { expect, test } from 'vitest'
import { hideLogin, hideProxyLogin } from './hide-login.ts'

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

test.each([
  ['http://robot:S3CRET@proxy.test:3128', 'http://*****@proxy.test:3128'],
  ['robot:S3CRET@proxy.test:3128', '*****@proxy.test:3128'],
  ['socks5://robot:S3C/RET@proxy.test', 'socks5://*****@proxy.test'],
  ['http://robot:S3C@R ET@proxy.test/', 'http://*****@proxy.test/'],
  ['http://proxy.test:3128', 'http://proxy.test:3128'],
  ['10.0.0.0/8,.svc', '10.0.0.0/8,.svc'],
])('hides the login of the proxy %s', (text, shown) => {
  expect(hideProxyLogin(text)).toBe(shown)
})
