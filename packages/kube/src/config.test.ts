import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { inCluster, readKubeconfig } from './config.ts'

function folder(files: Readonly<Record<string, string>>): string {
  const dir = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
  return dir
}

function kubeconfig(user: string, cluster = ''): string {
  return `
current-context: here
contexts: [{ name: here, context: { cluster: c, user: u, namespace: builds } }]
clusters: [{ name: c, cluster: { server: 'https://10.0.0.1:6443/', certificate-authority: ca.pem ${cluster} } }]
users: [{ name: u, user: { ${user} } }]
`
}

test('reads server, CA, namespace and client certificate of a kubeconfig', async () => {
  const data = Buffer.from('PEM').toString('base64')
  const dir = folder({ 'ca.pem': 'CA', config: kubeconfig(`client-certificate-data: ${data}, client-key-data: ${data}`) })
  expect(await readKubeconfig(join(dir, 'config'))).toMatchObject({
    server: 'https://10.0.0.1:6443',
    ca: 'CA',
    insecure: false,
    clientCert: 'PEM',
    clientKey: 'PEM',
    namespace: 'builds',
  })
})

test('reads a token file again for each call, because it is replaced on disk', async () => {
  const dir = folder({ 'ca.pem': 'CA', token: 'one\n', config: kubeconfig('tokenFile: token') })
  const { token } = await readKubeconfig(join(dir, 'config'))
  expect(token?.()).toBe('one')
  writeFileSync(join(dir, 'token'), 'two\n')
  expect(token?.()).toBe('two')
})

test.each([
  ['auth-provider', 'auth-provider: { name: gcp }'],
  ['username', 'username: admin, password: x'],
])('refuses a kubeconfig with the login method %s and gives a hint', async (key, user) => {
  const dir = folder({ 'ca.pem': 'CA', config: kubeconfig(user) })
  await expect(readKubeconfig(join(dir, 'config'))).rejects.toMatchObject({
    code: 'config-invalid',
    message: expect.stringContaining(key),
    hint: expect.stringContaining('service account'),
  })
})

test.each([
  ['no file', {}],
  ['no context', { config: 'contexts: []' }],
  ['not YAML', { config: 'a: [' }],
])('refuses a kubeconfig with %s', async (_name, files) => {
  const dir = folder(files)
  await expect(readKubeconfig(join(dir, 'config'))).rejects.toMatchObject({ code: 'config-invalid' })
})

test('uses the service account in a pod and reads its token again for each call (R236)', () => {
  const dir = folder({ 'ca.crt': 'CA', token: 'one', namespace: 'builds' })
  const access = inCluster({ KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' }, dir)
  expect(access).toMatchObject({ server: 'https://10.96.0.1:443', ca: 'CA', namespace: 'builds' })
  writeFileSync(join(dir, 'token'), 'two')
  expect(access?.token?.()).toBe('two')
  expect(inCluster({}, dir)).toBeUndefined()
})
