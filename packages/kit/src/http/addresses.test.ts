import { expect, test } from 'vitest'
import { isBlocked } from './addresses.ts'

test('metadata services, link-local and multicast addresses are blocked in every notation (E31)', () => {
  for (const address of [
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::a83f:8110',
    '64:ff9b::6464:64c8',
    '2002:c000:c0::1',
    '2002:a83f:8110::',
    '::ffff:0:a9fe:a9fe',
    '::169.254.169.254',
    '::168.63.129.16',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    '255.255.255.255',
    'ff02::1',
    'not an address',
  ])
    expect([address, isBlocked(address, true)]).toEqual([address, true])
})

test('private and public addresses are not blocked, and loopback ones only in a pod (E31)', () => {
  for (const address of [
    '10.0.0.1',
    '192.168.1.5',
    '172.16.0.9',
    '100.64.0.1',
    '8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::1',
    'fd12::1',
    '2001:4860::1',
  ])
    expect([address, isBlocked(address, false)]).toEqual([address, false])
  for (const address of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::'])
    expect([address, isBlocked(address, true), isBlocked(address, false)]).toEqual([address, false, true])
})
