import { expect, test } from 'vitest'
import { readServerConfig, toServerOptions } from '../config.ts'

const read = (settings: Readonly<Record<string, string>>) =>
  toServerOptions(
    readServerConfig(
      Object.fromEntries(Object.entries(settings).map(([key, value]) => [`WINDLASS_SERVER_TUNNEL_${key}`, value])),
    ),
  ).tunnels

test('a server listens for tunnels only if it has a domain for them', () => {
  expect(read({ PORT: '9000' })).toBeUndefined()
  expect(read({ DOMAIN: 'tunnels.example.com' })).toMatchObject({
    domain: 'tunnels.example.com',
    port: 8090,
    secondClient: 'reject',
    callsPerSecond: 100,
  })
  expect(read({ DOMAIN: 'tunnels.example.com:8443', SECOND_CLIENT: 'replace' })).toMatchObject({
    domain: 'tunnels.example.com:8443',
    secondClient: 'replace',
  })
})

test.each([
  [{ DOMAIN: 'https://tunnels.example.com' }, 'TUNNEL_DOMAIN'],
  [{ DOMAIN: '*.example.com' }, 'TUNNEL_DOMAIN'],
  [{ DOMAIN: 'localhost' }, 'TUNNEL_DOMAIN'],
  [{ DOMAIN: 'a.example', PEER_URL: '10.0.0.1:8090' }, 'TUNNEL_PEER_URL'],
  [{ DOMAIN: 'a.example', TLS_CERT_PATH: 'cert.pem' }, 'TUNNEL_TLS_KEY_PATH'],
])('%j is refused with the name of the setting', (settings, name) => {
  expect(() => read(settings)).toThrow(
    expect.objectContaining({ code: 'config-invalid', message: expect.stringContaining(name) }),
  )
})
