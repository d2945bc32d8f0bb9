import { expect, test } from 'vitest'
import { readConfigText } from './read.ts'
import { sessionSettings } from './session-server.ts'

const settings = (listen: string, advertise = '', timeout?: number): unknown =>
  sessionSettings({
    listen_address: listen,
    advertise_address: advertise,
    ...(timeout !== undefined && { session_timeout: timeout }),
  })

test('the server listens and is reached where the configuration says', () => {
  expect(settings('[::]:8093', 'runner.example.com:9000', 60)).toEqual({
    host: undefined,
    port: 8093,
    advertised: 'runner.example.com:9000',
    name: 'runner.example.com',
    timeoutS: 60,
  })
  expect(settings(':8093', 'runner.example.com')).toMatchObject({ advertised: 'runner.example.com', timeoutS: 1_800 })
  expect(settings('10.0.0.7:8093', '', 0)).toMatchObject({ host: '10.0.0.7', advertised: '10.0.0.7:8093', timeoutS: 1_800 })
  expect(settings('0.0.0.0:8093', '[fd00::7]:8093')).toMatchObject({ advertised: '[fd00::7]:8093', name: 'fd00::7' })
})

test('without an address to listen on there is no server', () => {
  expect(sessionSettings(undefined)).toBeUndefined()
  expect(settings('', 'runner.example.com:8093')).toBeUndefined()
})

test.each([
  ['8093 ', '', 'listen_address'],
  ['host', 'runner.example.com', 'listen_address'],
  [':99999', 'runner.example.com', 'listen_address'],
  [':8093', '', 'advertise_address'],
  [':8093', '0.0.0.0:8093', 'advertise_address'],
  [':8093', 'https://runner.example.com', 'advertise_address'],
  [':8093', 'user@runner.example.com', 'advertise_address'],
  [':8093', '[::]:8093', 'advertise_address'],
])('refuses "%s" with "%s"', (listen, advertise, key) => {
  expect(settings(listen, advertise)).toMatchObject({ key })
})

test('a wrong address is an error with its line, and one without an effect is a warning', () => {
  const read = (section: string): unknown[] =>
    readConfigText(`[session_server]\n${section}\n`).findings.map(({ severity, line, key }) => [severity, line, key])
  expect(read('listen_address = ":8093"\nadvertise_address = "a b:1"')).toEqual([
    ['error', 3, 'session_server.advertise_address'],
  ])
  expect(read('advertise_address = "runner.example.com"')).toEqual([['warning', 2, 'session_server.advertise_address']])
  expect(read('listen_address = ":8093"\nadvertise_address = "runner.example.com:8093"\nsession_timeout = 60')).toEqual([])
})
