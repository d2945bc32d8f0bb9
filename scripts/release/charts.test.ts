import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { chartEntries, pinImages, type Chart } from './charts.ts'

const digests = { windlass: 'sha256:1111', dind: 'sha256:2222', 'dind-rootless': 'sha256:3333', 'gitlab-helper': 'sha256:4444' }
const valuesOf = (chart: Chart): string =>
  chartEntries(chart, digests)
    .find(({ header }) => header.name === `${chart}/values.yaml`)
    ?.read?.()
    .toString() ?? ''

test('a packed chart has the digests of its images, and otherwise the values of the repository', () => {
  expect(parse(valuesOf('windlass')).image).toMatchObject({ repository: 'windlass/windlass', digest: 'sha256:1111' })
  expect(parse(valuesOf('windlass-gitops-runtime')).image).toMatchObject({ digest: 'sha256:1111' })
  const runtime = parse(valuesOf('windlass-runtime'))
  expect(runtime.image).toMatchObject({ repository: 'windlass/windlass', digest: 'sha256:1111' })
  expect(runtime.runtime.dind.image).toMatchObject({ repository: 'windlass/dind', digest: 'sha256:2222' })
  expect(runtime.runtime.dind.rootless.image).toMatchObject({ repository: 'windlass/dind-rootless', digest: 'sha256:3333' })
  expect(runtime.gitlab).toMatchObject({ helperDigest: 'sha256:4444' })
  expect(parse(valuesOf('windlass-gitlab-runner'))).toMatchObject({ managerDigest: 'sha256:1111', helperDigest: 'sha256:4444' })
  const source = readFileSync(join(import.meta.dirname, '../../charts/windlass-runtime/values.yaml'), 'utf8')
  expect(valuesOf('windlass-runtime').replaceAll(/'sha256:\d+'/g, "''")).toBe(source)
})

test('a release without the rootless daemon leaves its digest empty', () => {
  const { 'dind-rootless': _, ...others } = digests
  const values = chartEntries('windlass-runtime', others).find(({ header }) => header.name.endsWith('/values.yaml'))
  expect(parse(values?.read?.().toString() ?? '').runtime.dind.rootless.image).toMatchObject({ tag: '', digest: '' })
})

test('values without a place for a digest are an error', () => {
  expect(() => pinImages('windlass', 'image:\n  repository: windlass/windlass\n', digests)).toThrow(
    '0 places for the digest of windlass',
  )
})
