import { expect, test } from 'vitest'
import { readDockerfileImages } from './dockerfile-images.ts'

test('lists the images of all stages, copies and mounts without stage names', () => {
  const text = `# syntax=docker/dockerfile:1
ARG VERSION=3
ARG BASE="alpine:\${VERSION}"
FROM --platform=linux/amd64 \${BASE} AS build
RUN --mount=type=cache,target=/x --mount=type=bind,from=tools:1,target=/t \\
    # a comment between
    make
FROM build AS test
FROM scratch
COPY --from=build /a /a
COPY --from=nginx:1.27 /b /b
COPY --from=0 /c /c
`
  expect(readDockerfileImages(text, [])).toEqual({
    images: ['alpine:3', 'tools:1', 'nginx:1.27', 'docker/dockerfile:1'],
    isComplete: true,
  })
  expect(readDockerfileImages(text, ['VERSION=4']).images[0]).toBe('alpine:4')
  expect(readDockerfileImages(text, ['BASE=debian']).images[0]).toBe('debian')
})

test('marks the list as incomplete if an image is unknown', () => {
  expect(readDockerfileImages('ARG BASE\nFROM $BASE', []).isComplete).toBe(false)
  expect(readDockerfileImages('ARG BASE\nFROM ${BASE:-alpine}', [])).toEqual({ images: ['alpine'], isComplete: true })
  expect(readDockerfileImages('FROM a\nADD https://example.com/file /', []).isComplete).toBe(false)
  expect(readDockerfileImages('', []).isComplete).toBe(false)
})
