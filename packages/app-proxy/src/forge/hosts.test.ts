import { fault } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openForgeHosts } from './hosts.ts'

test.each([
  'http://169.254.169.254',
  'http://[fe80::1]',
  'http://0xa9fea9fe',
  'http://[::ffff:169.254.169.254]',
  'http://[64:ff9b::a9fe:a9fe]',
  'http://[fd20:ce::254]',
  'http://100.100.100.200',
  'http://192.0.0.192',
  'http://0.0.0.0',
  'http://224.0.0.1',
  'https://git.example.com.',
])('no forge is at %s', (url) => {
  const { requireForge } = openForgeHosts({ mayUseLoopback: true })
  expect(() => requireForge(new URL(url))).toThrow(expect.objectContaining({ code: 'request-invalid' }))
})

test('forges are at names, at private addresses, and outside of a pod at loopback addresses', async () => {
  const [pod, machine] = [openForgeHosts({ mayUseLoopback: false }), openForgeHosts({ mayUseLoopback: true })]
  for (const url of ['https://git.example.com', 'http://10.1.2.3:3000', 'http://[fd12::1]']) pod.requireForge(new URL(url))
  machine.requireForge(new URL('http://127.0.0.1'))
  for (const url of ['http://127.0.0.1', 'http://[::1]'])
    expect(() => pod.requireForge(new URL(url))).toThrow(expect.objectContaining({ code: 'request-invalid' }))
  expect(await machine.addressesOf(new URL('http://127.0.0.1:3000'))).toEqual([])
})

test('a hosted runtime calls no Services of its cluster', () => {
  const hosted = openForgeHosts({ mayUseLoopback: false, mayUseServices: false })
  const inCluster = ['windlass', 'windlass.platform.svc', 'X.Platform.SVC.cluster.local', '10-1-2-3.platform.pod.cluster.local']
  for (const host of inCluster)
    expect(() => hosted.requireForge(new URL(`https://${host}`)), host).toThrow(
      expect.objectContaining({ code: 'request-invalid', message: expect.stringContaining('cluster of the server') }),
    )
  for (const host of ['git.example.com', 'svc.example.com', '10.1.2.3']) hosted.requireForge(new URL(`https://${host}`))
})

test('a name leads to its addresses, unless one of them is refused or no name server answers', async () => {
  const hostsWith = (...addresses: string[]): ReturnType<typeof openForgeHosts> =>
    openForgeHosts({
      mayUseLoopback: false,
      resolve: (_, __, done) =>
        done(
          null,
          addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        ),
    })
  const url = new URL('https://git.example.com')
  expect(await hostsWith('10.1.2.3', 'fd12::1').addressesOf(url)).toEqual(['10.1.2.3', 'fd12::1'])
  for (const addresses of [['10.1.2.3', '169.254.169.254'], ['127.0.0.1']])
    await expect(hostsWith(...addresses).addressesOf(url)).rejects.toMatchObject({
      code: 'forge-unreachable',
      message: expect.stringContaining('git.example.com has an address'),
      hint: expect.not.stringContaining(fault('forge-unreachable').hint ?? ''),
    })
  const broken = openForgeHosts({ mayUseLoopback: false, resolve: (_, __, done) => done(new Error('no name server'), []) })
  await expect(broken.addressesOf(url)).rejects.toMatchObject({
    message: 'git.example.com cannot be resolved.',
    hint: expect.stringContaining('WINDLASS_APP_PROXY_FORGE_CA_PATH'),
  })
})
