import { expect, test } from 'vitest'
import { describeReach, resolveLogs, restartCommand } from './advertise.ts'

const URL = 'http://10.0.0.5:7400'

test('the restart command repeats the data folder, and mentions PostgreSQL without its URL', () => {
  expect(restartCommand(URL)).toBe(`windlass up --stop; windlass up --detach --host 0.0.0.0 --port 7400 --advertise ${URL}`)
  expect(restartCommand(URL, { data: 'folder', postgres: 'postgres://user:hidden@db/windlass' })).toBe(
    `windlass up --data folder --stop; windlass up --data folder --postgres URL --detach --host 0.0.0.0 --port 7400 --advertise ${URL}`,
  )
  expect(restartCommand(URL, { logs: 's3://logs/ci?region=a&style=path' })).toContain(
    " --logs 's3://logs/ci?region=a&style=path' --detach ",
  )
  expect(restartCommand('http://ADDRESS')).toContain('--port 80 --advertise http://ADDRESS')
})

test('a folder of logs is absolute, and the URL of a bucket stays as it is', () => {
  expect(resolveLogs('logs')).toBe(`${process.cwd()}/logs`)
  expect(resolveLogs('s3://logs/ci')).toBe('s3://logs/ci')
  expect(resolveLogs(undefined)).toBeUndefined()
})

test('a server on the loopback address needs another host, with or without an advertised URL', () => {
  const reach = { url: 'http://127.0.0.1:7400', host: '127.0.0.1', options: {} }
  expect(describeReach({ ...reach, advertised: undefined })).toEqual([
    expect.stringMatching(/^The server is reachable only from this machine\. .* --host 0\.0\.0\.0 /),
  ])
  expect(describeReach({ ...reach, advertised: URL })).toEqual([
    `Clusters reach the server at ${URL} (saved for the next start; change it with --advertise).`,
    expect.stringContaining('It listens only on 127.0.0.1'),
  ])
})
