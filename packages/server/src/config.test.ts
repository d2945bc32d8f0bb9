import { expect, test } from 'vitest'
import { readServerConfig } from './config.ts'

test('a setting that was renamed is refused, with its new name', () => {
  expect(() => readServerConfig({ WINDLASS_SERVER_DOCUMENT_NETWORKS: '10.0.0.0/8' })).toThrow(
    expect.objectContaining({
      code: 'config-invalid',
      details: expect.objectContaining({ hint: expect.stringContaining('WINDLASS_SERVER_OUTBOUND_NETWORKS') }),
    }),
  )
})
