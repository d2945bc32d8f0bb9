import { expect, test } from 'vitest'
import { RunInput, toBuildInput } from './build-requests.ts'

const convert = (body: object): object => toBuildInput('demo/app', RunInput.parse(body))

test('converts the body that the command line sends', () => {
  expect(
    convert({
      options: { noCache: true, skip: ['a'], only: 'b' },
      userMachineConfig: { cpu: '500m', memory: '512Mi', disk: '5Gi', runtimeName: 'cluster/ns' },
      branch: 'main',
      sha: 'abc',
      trigger: 'push',
      variables: [
        { key: 'A', value: '1' },
        { key: 'S', value: 'hush', encrypted: true },
      ],
      annotations: { team: 'red' },
      contexts: ['shared'],
    }),
  ).toMatchObject({
    pipeline: 'demo/app',
    noCache: true,
    noCfCache: false,
    skip: ['a'],
    only: ['b'],
    machine: { cpu: '500m', memory: '512Mi', disk: '5Gi' },
    runtime: 'cluster/ns',
    branch: 'main',
    revision: 'abc',
    trigger: 'push',
    variables: { A: '1' },
    secrets: { S: 'hush' },
    annotations: { team: 'red' },
    contexts: ['shared'],
  })
})

test('accepts a map of variables, whose values may be numbers', () => {
  expect(convert({ variables: { A: 'one', B: 2, C: true } })).toMatchObject({
    variables: { A: 'one', B: '2', C: 'true' },
    secrets: {},
  })
})

test('adds nothing to an empty body, because the key of a step may not set other fields', () => {
  const body = { options: {}, userMachineConfig: {}, variables: [], annotations: {}, contexts: [] }
  expect(Object.keys(convert(body)).toSorted()).toEqual(Object.keys(convert({})).toSorted())
  expect(convert(body)).not.toHaveProperty('machine')
})

test.each([
  [{ userMachineConfig: { packName: 'small' } }, 'Windlass has no machine sizes such as "small".'],
  [{ userMachineConfig: { memory: 'much' } }, 'machine.memory: must be a Kubernetes quantity such as 500m or 2Gi'],
])('refuses %j', (body, message) => {
  expect(() => convert(body)).toThrow(message)
})
