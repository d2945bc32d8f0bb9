import { expect, test } from 'vitest'
import { chartApplicationFile, chartFile, chartFolder, chartValuesFile, editChart, readChart } from './runtime-chart.ts'
import { readManifest } from './yaml.ts'

const chart = { chart: 'oci://registry.example.com/charts/gitops-runtime', version: '1.2.3' }

test('the chart of a runtime has one dependency, and values under its name (O073)', () => {
  expect(chartFile(chart, 'prod')).toBe(`apiVersion: v2
name: prod
version: 1.2.3
dependencies:
  - name: gitops-runtime
    repository: oci://registry.example.com/charts
    version: 1.2.3
`)
  expect(chartValuesFile(chart.chart, { global: { runtime: { name: 'prod' } } })).toBe(
    'gitops-runtime:\n  global:\n    runtime:\n      name: prod\n',
  )
  expect(readChart(chartFile(chart, 'prod'))).toEqual(chart)
})

test('an application installs it from a folder that in-cluster does not apply (O073)', () => {
  const folder = chartFolder('prod') ?? ''
  expect(folder).toBe('resources/prod/chart')
  const shared = { clone: 'https://git.example.com/acme/gitops.git', path: 'a', branch: 'main' }
  expect(readManifest(chartApplicationFile(shared, { runtime: 'prod', namespace: 'gitops-prod' }, folder))).toMatchObject({
    metadata: { name: 'prod', labels: { 'codefresh.io/entity': 'runtime', 'codefresh.io/internal': 'true' } },
    spec: {
      source: { repoURL: shared.clone, path: 'a/resources/prod/chart', targetRevision: 'main' },
      syncPolicy: { automated: { allowEmpty: true, prune: true, selfHeal: true } },
    },
  })
  for (const name of ['configurations', 'runtimes', 'app-projects']) expect(chartFolder(name)).toBeUndefined()
})

test('another version changes both versions, and nothing else (O073)', () => {
  const text = `# ours\n${chartFile(chart, 'prod')}  - name: extra # of the platform team\n    repository: oci://x/y\n    version: 9.0.0\n`
  const next = editChart(text, { ...chart, version: '1.3.0' })
  expect(next).toBe(text.replaceAll('1.2.3', '1.3.0'))
  expect(editChart(text, chart)).toBe(text)
  for (const other of ['', 'a: 1', 'version: 1.0.0\ndependencies: []\n', 'version: &a 1\ndependencies: *a\n'])
    expect(editChart(other, chart)).toBeUndefined()
})
