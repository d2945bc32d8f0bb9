import { expect, test } from 'vitest'
import { refuseOthers } from './sign.ts'

test('accepts options that change how an image is signed', () => {
  refuseOthers({ key: 'cosign.key', 'key-pass': 'x', 'tlog-upload': 'false', a: 'env=prod', '--timeout': '3m' })
})

test.each(['payload', '--payload', 'output-file', 'output-signature', 'registry-token', 'verbose', 'd', 'identity-token'])(
  'rejects the option %s, which could expose files or the login',
  (name) => {
    expect(() => refuseOthers({ key: 'cosign.key', [name]: '/run/windlass/config.json' })).toThrow(`"${name}" of cosign`)
  },
)
