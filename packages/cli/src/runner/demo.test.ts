import { expect, test } from 'vitest'
import { registryOf } from './demo.ts'

test.each([
  ['registry.example.com:5000/mirror/windlass/windlass:1.0.0', 'registry.example.com:5000/mirror'],
  ['registry.example.com/windlass/windlass@sha256:00', 'registry.example.com'],
  ['windlass/windlass:1.0.0', undefined],
  ['registry.example.com/team/engine:1', undefined],
])('the demo image comes from the registry of the engine image %s', (image, registry) => {
  expect(registryOf(image)).toBe(registry)
})
