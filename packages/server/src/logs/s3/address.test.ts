import { isFault } from '@windlass/kit'
import { expect, test } from 'vitest'
import { nameOf, parseS3Url, urlOf } from './address.ts'

test.each([
  ['s3://logs', {}, 'https://logs.s3.us-east-1.amazonaws.com/a/b'],
  ['s3://logs/ci/prod/?region=eu-central-1', {}, 'https://logs.s3.eu-central-1.amazonaws.com/ci/prod/a/b'],
  ['s3://logs', { AWS_REGION: 'eu-west-1', AWS_DEFAULT_REGION: 'us-west-2' }, 'https://logs.s3.eu-west-1.amazonaws.com/a/b'],
  ['s3://logs?region=cn-north-1', {}, 'https://logs.s3.cn-north-1.amazonaws.com.cn/a/b'],
  ['s3://logs.of.ci', {}, 'https://s3.us-east-1.amazonaws.com/logs.of.ci/a/b'],
  ['s3://logs/p?endpoint=http://minio:9000', {}, 'http://minio:9000/logs/p/a/b'],
  ['s3://logs/p', { AWS_ENDPOINT_URL_S3: 'https://minio.example.com/' }, 'https://minio.example.com/logs/p/a/b'],
  ['s3://logs/p?endpoint=https://store.example.com&style=virtual', {}, 'https://logs.store.example.com/p/a/b'],
  ['s3://logs/p?endpoint=http://[fd00::5]:9000', {}, 'http://[fd00::5]:9000/logs/p/a/b'],
  ['s3://logs/p?style=path', {}, 'https://s3.us-east-1.amazonaws.com/logs/p/a/b'],
])('reads %s with %j', (url, env, expected) => {
  expect(urlOf(parseS3Url(url, env), 'a/b')).toBe(expected)
})

test('builds the URL of a bucket with a query', () => {
  const address = parseS3Url('s3://logs/p?endpoint=http://minio:9000', {})
  expect(urlOf(address, undefined, { 'list-type': '2', prefix: 'p/a b/' })).toBe(
    'http://minio:9000/logs?list-type=2&prefix=p%2Fa+b%2F',
  )
  expect(nameOf(address)).toBe('s3://logs/p')
})

test.each([
  ['https://logs/p', 'is not a URL such as s3://bucket'],
  ['s3:logs', 'is not a valid name'],
  ['s3://Logs', 'the bucket "Logs", which is not a valid name'],
  ['s3://lo', 'the bucket "lo", which is not a valid name'],
  ['s3://a..b', 'the bucket "a..b", which is not a valid name'],
  ['s3://logs/a//b', 'has the prefix "a//b"'],
  ['s3://logs/a+b', 'has the prefix "a+b"'],
  ['s3://logs?reigon=x', 'has the parameter "reigon". Known are region, endpoint'],
  ['s3://logs?region=', 'has the parameter "region" without a value'],
  ['s3://logs?region=eu.west', 'has the region "eu.west"'],
  ['s3://logs?endpoint=minio:9000', 'has an endpoint that is not a URL'],
  ['s3://logs?endpoint=http://minio/path', 'has an endpoint that is not a URL'],
  ['s3://logs?endpoint=http://k:hidden@minio', 'has an endpoint with credentials'],
  ['s3://logs?style=dns', 'has the style "dns"'],
  ['s3://logs?endpoint=http://10.0.0.5:9000&style=virtual', 'not the address 10.0.0.5. Use `path`'],
  ['s3://logs?endpoint=http://0x0a.5&style=virtual', 'not the address 10.0.0.5. Use `path`'],
  ['s3://logs?endpoint=http://[fd00::5]:9000&style=virtual', 'not the address [fd00::5]. Use `path`'],
  ['s3://logs?sse=rot13', 'has sse "rot13"'],
  ['s3://logs?kmsKeyId=k', 'has kmsKeyId without sse=aws:kms'],
  ['s3://key:hidden@logs/p', 'contains credentials'],
])('rejects %s', (url, message) => {
  try {
    parseS3Url(url, {})
  } catch (error) {
    expect(isFault(error, 'config-invalid')).toBe(true)
    expect(String(error)).toContain(message)
    expect(String(error)).not.toContain('hidden')
    return
  }
  throw new Error('the URL was accepted')
})

test('a bucket that does not fit into the host name is not dropped from the URL', () => {
  const address = { ...parseS3Url('s3://logs?endpoint=http://10.0.0.5:9000', {}), isPathStyle: false }
  expect(() => urlOf(address, 'a/b')).toThrow('"logs.10.0.0.5:9000" is not a valid host name')
})
