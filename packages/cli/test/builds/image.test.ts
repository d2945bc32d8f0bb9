/** The programs of the image, which are bundles without packages beside them. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { BOOTSTRAP_CODE_FILE } from '@windlass/server'
import { ensureImages } from '../../../../e2e/support/images.ts'

const images = await ensureImages('windlass')

/** Runs a script in a container of the image without any settings. Only `/tmp` is writable. */
function inImage(script: string): { readonly code: number | null; readonly output: string } {
  const args = ['run', '--rm', '--network', 'none', '--read-only', '--tmpfs', '/tmp', '--env', 'HOME=/tmp']
  const command = ['sh', '-c', `exec 2>&1; ${script}`]
  const { status, stdout } = spawnSync('docker', [...args, images['WINDLASS_IMAGE'] ?? '', ...command], { encoding: 'utf8' })
  return { code: status, output: stdout }
}

test('each program of the image starts and names the setting that it needs', () => {
  const settings = {
    server: 'WINDLASS_SERVER_PORT',
    agent: 'WINDLASS_AGENT_SERVER_URL',
    engine: 'WINDLASS_ENGINE_SERVER_URL',
    monitor: 'WINDLASS_MONITOR_SERVER_URL',
    provisioner: 'WINDLASS_PROVISIONER_KUBECONFIG',
    cleaner: 'WINDLASS_CLEANER_KUBECONFIG',
    'node-disk-cleaner': 'WINDLASS_LOCAL_MONITOR_NODE_NAME',
  }
  const starts = Object.keys(settings).map((name) => `echo == ${name}; node dist/${name}.js; echo "exit code $?"`)
  const { output } = inImage(`export WINDLASS_SERVER_PORT=none; ${starts.join('; ')}`)
  const outputs = output.split(/^== /m).slice(1)
  expect(outputs).toHaveLength(starts.length)
  for (const [at, setting] of Object.values(settings).entries()) {
    expect(outputs[at]).toContain(setting)
    expect(outputs[at]).toContain('exit code 1')
  }
})

test('the command line and the server of the image work without packages: commands, documents, the page', () => {
  const { code, output } = inImage(`set -e; windlass version
    printf "version: '1.0'\\nsteps:\\n  a: {image: alpine, commands: [env]}\\n" > /tmp/windlass.yml
    windlass validate /tmp/windlass.yml
    WINDLASS_SERVER_DATA_DIR=/tmp/data WINDLASS_SERVER_PORT=8080 node dist/server.js > /tmp/server.log &
    until node -e "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"; do kill -0 $!; done
    windlass auth login --url http://127.0.0.1:8080 --first-admin --code-file /tmp/data/${BOOTSTRAP_CODE_FILE}
    node -e "fetch('http://127.0.0.1:8080/signin', { headers: { accept: 'text/html' } }).then(async (r) => console.log(r.status, /assets\\/index-/.test(await r.text())))"
    echo '{"kind": "pipeline", "metadata": {"name": "demo/app"}, "spec": {"steps": {"a": {"image": "alpine"}}}}' | windlass apply -f -`)
  expect(output).toMatch(/^windlass \d/m)
  expect(output).toContain('200 true')
  expect(output).toContain('demo/app')
  expect(code, output).toBe(0)
})

test('the image has a numeric user, who needs no writable root file system, as on nodes of Bottlerocket (R153)', () => {
  const { stdout } = spawnSync('docker', ['image', 'inspect', '--format', '{{.Config.User}}', images['WINDLASS_IMAGE'] ?? ''], {
    encoding: 'utf8',
  })
  expect(stdout.trim()).toMatch(/^[1-9]\d*:[1-9]\d*$/)
  const { code, output } = inImage('echo $(id -u):$(id -g); touch /probe || echo "not writable"; windlass version')
  expect(output).toContain(`${stdout.trim()}\n`)
  expect(output).toContain('not writable')
  expect(output).toMatch(/^windlass \d/m)
  expect(code, output).toBe(0)
})
