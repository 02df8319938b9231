"""callsync mcp by two clients of the protocol, as JSON: tools, and the rows of a query by each."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

command, *args = sys.argv[1:-1]
query = {"sql": sys.argv[-1]}


async def by_sdk():
    async with stdio_client(StdioServerParameters(command=command, args=args)) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = await session.list_tools()
            answer = await session.call_tool("query", query)
            return {"tools": sorted(tool.name for tool in tools.tools), "text": answer.content[0].text}


async def by_fastmcp():
    async with Client(StdioTransport(command, args)) as client:
        tools = await client.list_tools()
        answer = await client.call_tool("query", query)
        return {"tools": sorted(tool.name for tool in tools), "text": answer.content[0].text}


async def main():
    print(json.dumps({"mcp": await by_sdk(), "fastmcp": await by_fastmcp()}))


asyncio.run(main())
