import { expect, test } from 'vitest'
import { connectCommands, isLoopback, nameProblem } from './connect-commands.ts'

const connection = { url: 'https://ci.example.com', cluster: 'prod', namespace: 'builds' }

test('the wizard gets the address of the server, and the names of agent and runtime', () => {
  expect(connectCommands('wizard', connection)).toEqual([
    'windlass runner init --url https://ci.example.com --token-file key.txt --name prod_builds --runtime-name prod/builds --kube-namespace builds',
  ])
})

test('Helm gets the address of the server and a Secret with the key', () => {
  const commands = connectCommands('helm', connection)
  expect(commands).toContain('kubectl -n builds create secret generic windlass-api-key --from-file=key=key.txt')
  expect(commands[3]).toContain('global.codefreshHost=https://ci.example.com,global.context=prod')
})

test.each([
  ['http://127.0.0.1:7400', true],
  ['http://localhost:7400', true],
  ['http://[::1]:7400', true],
  ['http://10.0.0.5:7400', false],
  ['https://ci.example.com', false],
])('%s cannot be reached from a cluster: %s', (url, isOwn) => {
  expect(isLoopback(url)).toBe(isOwn)
})

test('a name that a shell would read as more than a name is refused', () => {
  expect(nameProblem('prod-1')).toBeUndefined()
  for (const name of ['', 'a b', '$(id)', 'x;y', '-a', 'A']) expect(nameProblem(name), name).toBeDefined()
})
