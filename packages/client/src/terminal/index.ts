export { fromBase64, toBase64 } from './base64.ts'
export { DetachKeys } from './detach-keys.ts'
export { KeySender, type KeySenderOptions } from './key-sender.ts'
