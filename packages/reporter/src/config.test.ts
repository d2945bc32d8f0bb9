import { silentLog, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { readReporterConfig, toReporterOptions } from './config.ts'

const GOOD = { WINDLASS_REPORTER_SERVER_URL: 'https://ci.test', WINDLASS_REPORTER_TOKEN_PATH: '/token' }

test.each([
  [{ WINDLASS_REPORTER_SERVER_URL: 'ci.test' }, 'SERVER_URL'],
  [{ WINDLASS_REPORTER_TOKEN_PATH: undefined }, 'TOKEN_PATH'],
  // Without namespaces a full state would end all applications.
  [{ WINDLASS_REPORTER_NAMESPACES: ' , ' }, 'NAMESPACES'],
  [{ WINDLASS_REPORTER_OBJECT_NAMESPACES: ',' }, 'OBJECT_NAMESPACES'],
  [{ WINDLASS_REPORTER_SHARDS: '0' }, 'SHARDS'],
  [{ WINDLASS_REPORTER_SHARDS: '65' }, 'SHARDS'],
])('%j is refused with the name of the setting', (settings, name) => {
  expect(() => readReporterConfig({ ...GOOD, ...settings })).toThrow(
    expect.objectContaining({ code: 'config-invalid', message: expect.stringContaining(`WINDLASS_REPORTER_${name}`) }),
  )
})

test.each([
  [{ WINDLASS_REPORTER_SHARDS: '2', HOSTNAME: 'reporter' }],
  [{ WINDLASS_REPORTER_SHARDS: '2', HOSTNAME: 'reporter-2' }],
  [{ WINDLASS_REPORTER_SHARDS: '2', WINDLASS_REPORTER_SHARD: '2', HOSTNAME: 'reporter-1' }],
])('a part that does not exist is refused: %j', async (environment) => {
  const config = readReporterConfig({ ...GOOD, ...environment })
  const parts = { environment, clock: systemClock, log: silentLog, version: '1.2.3' }
  await expect(toReporterOptions(config, parts)).rejects.toMatchObject({
    code: 'config-invalid',
    details: { hint: expect.stringContaining('WINDLASS_REPORTER_SHARD') },
  })
})
