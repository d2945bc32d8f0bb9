/** The key with which servers prove to each other that a call comes from one of them. It is derived from a master key, which all servers have. */
import { createHmac } from 'node:crypto'
import type { PeerKey } from '@windlass/tunnel/server'
import type { App } from '../app.ts'
import { isSame } from '../forges/signature.ts'
import { CURRENT_KEY } from '../secrets/vault.ts'
import { findMeta } from '../store/account/meta.ts'

export function peerKey(app: App): PeerKey {
  const { vault, store } = app
  const codeOf = (keyId: string, text: string): string =>
    createHmac('sha256', vault.derive(keyId, 'tunnel-peer')).update(text).digest('base64url')
  return {
    async sign(text) {
      const keyId = (await findMeta(store.query, CURRENT_KEY)) ?? ''
      return `${keyId}~${codeOf(keyId, text)}`
    },
    verify(text, code) {
      const [keyId = '', given = ''] = code.split('~')
      return vault.ring.knows(keyId) && isSame(given, codeOf(keyId, text))
    },
  }
}
