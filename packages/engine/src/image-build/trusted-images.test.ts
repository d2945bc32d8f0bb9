import { expect, test } from 'vitest'
import { isTrusted } from './trusted-images.ts'

test('matches trusted QEMU images with or without a tag (P059)', () => {
  const trusted = ['tonistiigi/binfmt', 'quay.io/team/qemu:v7', ' multiarch/qemu-user-static:latest ']
  expect(isTrusted('tonistiigi/binfmt:qemu-v9', trusted)).toBe(true)
  expect(isTrusted('docker.io/tonistiigi/binfmt', trusted)).toBe(true)
  expect(isTrusted('quay.io/team/qemu:v7', trusted)).toBe(true)
  expect(isTrusted('quay.io/team/qemu:v8', trusted)).toBe(false)
  expect(isTrusted('multiarch/qemu-user-static', trusted)).toBe(true)
  expect(isTrusted('evil/binfmt', trusted)).toBe(false)
  expect(isTrusted('evil.example.com/tonistiigi/binfmt', trusted)).toBe(false)
})
