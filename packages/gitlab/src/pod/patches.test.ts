import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigurationError } from './configuration-error.ts'
import { patchSpec } from './patches.ts'

const SPEC = {
  hostNetwork: false,
  nodeSelector: { pool: 'ci' },
  containers: [
    { name: 'build', image: 'a', env: [{ name: 'A', value: '1' }] },
    { name: 'helper', image: 'b' },
  ],
  tolerations: [{ key: 'a' }],
}

test('a strategic patch merges lists by their keys, and replaces others', () => {
  const patch = `
containers:
  - name: build
    securityContext: { runAsUser: 5 }
    env: [{ name: B, value: '2' }]
  - name: helper
    $patch: delete
  - name: more
    image: c
tolerations: [{ key: b }]
nodeSelector: { $patch: replace, zone: x }
`
  expect(patchSpec(SPEC, [{ patch }])).toEqual({
    hostNetwork: false,
    nodeSelector: { zone: 'x' },
    containers: [
      {
        name: 'build',
        image: 'a',
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '2' },
        ],
        securityContext: { runAsUser: 5 },
      },
      { name: 'more', image: 'c' },
    ],
    tolerations: [{ key: 'b' }],
  })
})

test('merge and json patches follow each other, one of them from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-patches-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'patch.json'), '[{"op": "add", "path": "/containers/0/image", "value": "z"}]')
  const patched = patchSpec(SPEC, [
    { patch: '{"hostNetwork": null, "containers": [{"name": "only"}]}', patch_type: 'merge' },
    { patch_path: join(folder, 'patch.json'), patch_type: 'json' },
  ])
  expect(patched).toEqual({
    nodeSelector: { pool: 'ci' },
    containers: [{ name: 'only', image: 'z' }],
    tolerations: [{ key: 'a' }],
  })
  expect(SPEC.containers).toHaveLength(2)
})

test.each([
  [{ name: 'bad', patch: '{"a": ' }, 'The patch "bad" of pod_spec is neither YAML nor JSON'],
  [{ patch: '[]' }, 'The patch "number 1" of pod_spec is not an object'],
  [{ patch: '{}', patch_type: 'json' as const }, 'is not a list of operations'],
  [{ patch: '[{"op": "remove", "path": "/none"}]', patch_type: 'json' as const }, 'cannot be applied'],
  [{ patch_path: '/none' }, 'names the file /none, which cannot be read'],
])('a patch that cannot be used fails the job: %j', (patch, message) => {
  expect(() => patchSpec(SPEC, [patch])).toThrow(ConfigurationError)
  expect(() => patchSpec(SPEC, [patch])).toThrow(message)
})
