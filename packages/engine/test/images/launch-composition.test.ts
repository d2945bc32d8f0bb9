/** Tests environments that outlive their build. */
import { newId } from '@windlass/kit'
import { afterEach, expect, test } from 'vitest'
import { removeProjects } from '../../src/index.ts'
import { listLeftovers } from '../support/list-leftovers.ts'
import { runPipeline, testDocker } from '../support/run-pipeline.ts'

const name = `test-${newId(Date.now())}`
const label = `windlass.io/environment=${name}`
afterEach(async () => removeProjects(await testDocker(), [label], 0))

const launch = (text: string, more = ''): string => `
version: '1.0'
steps:
  launch:
    type: launch-composition
    environment_name: ${name}
    ${more}
    composition:
      services:
        web:
          image: $SHELL
          command: ['sh', '-c', 'mkdir /www; echo ${text} > /www/index.html; exec httpd -f -p 80 -h /www']
          ports: [80]
        db: { image: $SHELL, command: ['sleep', '1000'] }
  use:
    image: $SHELL
    commands: ['echo "url \${{steps.launch.url}}"']
`

async function textAt(url: string): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await (await fetch(url)).text()
    } catch (error) {
      if (tries === 600) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

test('keeps an environment after its build and replaces it with one of the same name (P071)', async () => {
  const docker = await testDocker()
  const first = await runPipeline(launch('first', 'entry_point: web'))
  expect(first.outcome.status).toBe('success')
  const url = /url (http:\/\/\S+)/.exec(first.output('use'))?.[1] ?? ''
  expect(await textAt(url)).toBe('first\n')
  expect(first.log('launch')).toContain(`web:80 is at ${url}`)
  expect(await listLeftovers(first.buildId)).toEqual([])
  const before = await docker.listContainers([label])
  expect(before).toHaveLength(2)
  expect(Number(before[0]?.labels['windlass.io/expires'])).toBeGreaterThan(Date.now() / 1000 + 86_400)

  const second = await runPipeline(launch('second'))
  expect(second.log('launch')).toContain('Replacing it')
  expect(await textAt(/url (http:\/\/\S+)/.exec(second.output('use'))?.[1] ?? '')).toBe('second\n')
  const after = await docker.listContainers([label])
  expect(after).toHaveLength(2)
  expect(after.some(({ id }) => before.some((one) => one.id === id))).toBe(false)
})

test('removes an environment that cannot be launched', async () => {
  const result = await runPipeline(launch('first', 'entry_point: nobody'))
  expect(result.snapshot.steps['launch']?.message).toContain('no service "nobody"')
  expect(await (await testDocker()).listContainers([label])).toEqual([])
  expect(await (await testDocker()).listNetworks([label])).toEqual([])
})
