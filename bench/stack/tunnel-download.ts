/** `node tunnel-download.ts PORT HOST`: downloads a gigabyte again and again. Prints `ready 1` when the first bytes have arrived. */
import { request } from 'node:http'

const [port = '', host = ''] = process.argv.slice(2)
let bytes = 0

function download(): void {
  const call = request({ host: '127.0.0.1', port, path: '/app-proxy/gigabyte', headers: { host }, agent: false })
  call.on('response', (response) => {
    if (response.statusCode !== 200) throw new Error(`the download was answered with ${response.statusCode}`)
    response.on('data', (chunk: Buffer) => {
      if (bytes === 0) console.log('ready 1')
      bytes += chunk.length
    })
    response.on('end', download)
  })
  call.end()
}

download()
