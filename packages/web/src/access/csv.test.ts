import type { AuditRecord } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { toCsv } from './csv.ts'

const RECORD: AuditRecord = {
  seq: 7,
  at: 0,
  kind: 'key',
  actorId: 'a',
  actor: '=cmd()',
  action: 'PUT /v1/triggers/{name}',
  target: '/v1/triggers/x',
  result: 'done',
  detail: 'branch "a", next',
  address: '10.1.2.3',
  requestId: 'r',
  hash: 'h',
}

test('quotes cells and disarms formulas', () => {
  expect(toCsv([RECORD])).toBe(
    'seq,at,kind,actor,owner,action,target,result,code,detail,address,client,hash\r\n' +
      `7,1970-01-01T00:00:00.000Z,key,'=cmd(),,PUT /v1/triggers/{name},/v1/triggers/x,done,,"branch ""a"", next",10.1.2.3,,h\r\n`,
  )
})
