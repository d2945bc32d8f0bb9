/** The file that installs Argo Rollouts in a cluster. */
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { argoRolloutsFile, editArgoRollouts, readArgoRollouts } from './argo-rollouts.ts'

const place = { runtime: 'prod', namespace: 'gitops-prod' }
const wanted = {
  server: 'https://10.1.2.3:6443',
  namespace: 'rollouts',
  chart: 'oci://registry.example.com/charts/argo-rollouts',
  version: '2.41.1',
}

test('the application takes the chart of a registry or of a repository, with its values', () => {
  const text = argoRolloutsFile(place, 'eu', { ...wanted, values: { controller: { replicas: 2 } } })
  expect(parse(text)).toMatchObject({
    metadata: { name: 'argo-rollouts-eu', namespace: 'gitops-prod' },
    spec: {
      source: {
        repoURL: 'registry.example.com/charts',
        chart: 'argo-rollouts',
        targetRevision: '2.41.1',
        helm: { valuesObject: { controller: { replicas: 2 } } },
      },
      destination: { namespace: 'rollouts', server: 'https://10.1.2.3:6443' },
    },
  })
  expect(readArgoRollouts(text)).toEqual(wanted)
  const chart = 'https://charts.example.com/argo/argo-rollouts'
  expect(readArgoRollouts(argoRolloutsFile(place, 'eu', { ...wanted, chart, values: undefined }))).toEqual({ ...wanted, chart })
})

test('another version keeps comments and values, and the same one changes nothing', () => {
  const text = argoRolloutsFile(place, 'eu', { ...wanted, values: { a: 1 } }).replace('spec:\n', '# ours\nspec:\n')
  expect(editArgoRollouts(text, { ...wanted, values: undefined })).toBe(text)
  const changed = editArgoRollouts(text, { ...wanted, version: '2.42.0', values: undefined }) ?? ''
  expect(changed).toBe(text.replace('2.41.1', '2.42.0'))
  expect(parse(editArgoRollouts(text, { ...wanted, values: { b: 2 } }) ?? '').spec.source.helm.valuesObject).toEqual({ b: 2 })
})

test('a file of something else is not taken', () => {
  const other = argoRolloutsFile(place, 'eu', { ...wanted, values: undefined }).replace(': argo-rollouts\n', ': git-source\n')
  expect(readArgoRollouts(other)).toBeUndefined()
  expect(editArgoRollouts(other, { ...wanted, values: undefined })).toBeUndefined()
})
