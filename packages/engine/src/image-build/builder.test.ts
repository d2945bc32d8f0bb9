import { expect, test } from 'vitest'
import { requireTrustedBuilder } from './builder.ts'
import { openDriverOptions } from './driver-options.ts'

function check(driverOpts: string, allowed: Partial<Parameters<typeof requireTrustedBuilder>[1]> = {}): void {
  requireTrustedBuilder(openDriverOptions({ driver: 'docker-container', driverOpts }, 'bridge'), {
    userAccess: true,
    network: 'bridge',
    ...allowed,
  })
}

test('rejects a builder image that the runtime does not trust', () => {
  for (const image of [
    'evil.example/anything',
    'evil.example/moby/buildkit',
    'moby/buildkit-evil',
    'localhost:5000/moby/buildkit',
  ])
    expect(() => check(`image=${image},network=host`, { trustedQemuImages: [] })).toThrow(`${image} is not trusted`)
  check('image=moby/buildkit:v0.15.0', { trustedQemuImages: [] })
  check('image=quay.io/team/buildkit', { trustedQemuImages: ['quay.io/team/buildkit'] })
  check('image=evil.example/anything')
})

test.each([
  ['network=host', 'network=host'],
  ['env.LD_PRELOAD=/var/lib/buildkit/x.so', 'env.LD_PRELOAD'],
  ['env.PATH=/var/lib/buildkit', 'env.PATH'],
  ['env.BUILDKIT_X=1,env.GODEBUG=x', 'env.GODEBUG'],
])('rejects %s for builders without access to the daemon (P183)', (driverOpts, option) => {
  expect(() => check(driverOpts, { userAccess: false })).toThrow(`"driver_opts" has ${option}, which`)
})

test('allows BuildKit settings and proxies without access to the daemon (P183)', () => {
  check('env.BUILDKIT_STEP_LOG_MAX_SIZE=-1,env.https_proxy=http://proxy:3128,network=bridge', { userAccess: false })
  check('network=host', { userAccess: false, network: 'host' })
})
