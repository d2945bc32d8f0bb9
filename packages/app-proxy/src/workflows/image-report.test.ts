import { expect, test } from 'vitest'
import { readDataHeader, readImageJob } from './image-report.ts'

const read = (variables: Record<string, string>): Record<string, string> =>
  Object.fromEntries(readImageJob(Object.entries(variables)).parameters.map(({ name, value }) => [name, value]))

test('variables of a job become parameters, with and without their prefix, and logins do not', () => {
  expect(read({ CF_IMAGE: 'acme/shop:1', GIT_BRANCH: 'main', CF_RUNTIME_VERSION: 'x', CF_JIRA_INTEGRATION: 'jira' })).toEqual({
    image: 'acme/shop:1',
    'git-branch': 'main',
    'jira-integration': 'jira',
  })
  const job = readImageJob([
    ['CF_IMAGE', 'a/b'],
    ['CF_GITHUB_TOKEN', 'ghp_1'],
    ['CF_JIRA_API_TOKEN', ''],
    ['CF_REGISTRY_PASSWORD', 'p'],
  ])
  expect(job).toEqual({ parameters: [{ name: 'image', value: 'a/b' }], unused: ['CF_GITHUB_TOKEN', 'CF_REGISTRY_PASSWORD'] })
  // Readers that the job does not want have nothing to read.
  expect(read({ IMAGE: 'a/b', GIT_REPO: 'a/b', JIRA_MESSAGE: 'X-1', ENRICHERS: 'git' })).toEqual({
    image: 'a/b',
    'git-repo': 'a/b',
    'jira-message': '',
  })
})

test('a job without an image, and names that would be other Secrets, are refused', () => {
  expect(() => read({ CF_GIT_BRANCH: 'main' })).toThrow('CF_IMAGE is missing')
  for (const name of ['../x', 'a.b', 'UPPER', '-a', 'a'.repeat(41), '{{workflow.name}}'])
    expect(() => read({ CF_IMAGE: 'a/b', CF_CONTAINER_REGISTRY_INTEGRATION: name })).toThrow('is not the name of an integration')
  expect(() => read({ CF_IMAGE: 'a\nb' })).toThrow('control characters')
})

test('the header has pairs in base64, whose values may contain equals signs', () => {
  expect(readDataHeader(btoa('CF_IMAGE=a/b:1&CF_WORKFLOW_URL=https://ci.test/?a=b&CF_EMPTY'))).toEqual([
    ['CF_IMAGE', 'a/b:1'],
    ['CF_WORKFLOW_URL', 'https://ci.test/?a=b'],
    ['CF_EMPTY', ''],
  ])
  expect(() => readDataHeader('A'.repeat(40_000))).toThrow('cannot be read')
})
