import { expect, test } from 'vitest'
import { openDriverOptions } from './driver-options.ts'

const driver = 'docker-container'

test('reads driver options in any order and with quoted values', () => {
  expect(openDriverOptions(undefined, 'bridge')).toEqual({ network: 'bridge', environment: [] })
  expect(openDriverOptions({ driver, driverOpts: "env.A=1, image='x:1',network=host,env.B=b=c" }, 'bridge')).toEqual({
    network: 'host',
    image: 'x:1',
    environment: ['A=1', 'B=b=c'],
  })
})

test('rejects other drivers and options', () => {
  expect(() => openDriverOptions({ driver: 'kubernetes' }, 'bridge')).toThrow('"kubernetes" is not supported')
  expect(() => openDriverOptions({ driver, driverOpts: 'memory=1g' }, 'bridge')).toThrow('memory=1g')
  expect(() => openDriverOptions({ driver, driverOpts: 'network=custom' }, 'bridge')).toThrow('network=custom')
})
